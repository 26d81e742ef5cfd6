"""From a passage of a document's text to the rectangles on its pages where its words stand."""
