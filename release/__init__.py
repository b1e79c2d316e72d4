"""What makes a release: one version everywhere, the keys of package.xml, the support matrix."""
