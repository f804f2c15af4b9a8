import './notes.test.js';
