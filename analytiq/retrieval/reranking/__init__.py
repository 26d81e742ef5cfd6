"""Models that read a question and a passage together and say how well one answers the other."""
