"""From a sensor's sample, or the joint torques, to the wrench that a law sees."""
