"""`repro issue`: a claim or a script and what it gave, as Markdown for another project's tracker."""
