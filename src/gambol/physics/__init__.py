"""Physics: the nearest motion to a clip that a body of bones, joints and weight could do on the ground."""
