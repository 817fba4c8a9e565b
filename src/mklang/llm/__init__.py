"""Language models and judges: what answers ``Produce`` and ``Judge``, and how its replies are read."""
