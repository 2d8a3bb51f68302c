// Set the theme before the page is drawn.
const theme = localStorage.getItem("theme");
if (theme) document.documentElement.dataset.theme = theme;
