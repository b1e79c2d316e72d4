"""What is seen and dragged in three dimensions."""
