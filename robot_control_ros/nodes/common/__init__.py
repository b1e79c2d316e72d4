"""What several nodes share: how they run, messages, parameters, a look at the system."""
