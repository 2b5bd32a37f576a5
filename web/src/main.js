document.title = String(document.title);
