"""Places of passages: from a range of a document's text to the rectangles of its words on the pages."""
