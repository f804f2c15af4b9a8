import './kept-document.test.js';
