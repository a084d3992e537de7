"""What the prior knows, measured on characters that it was not trained on."""
