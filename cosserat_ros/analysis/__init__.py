"""What follows from the equations of a robot: sensitivities, linear models, stability."""
