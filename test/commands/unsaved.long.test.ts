import './unsaved.test.js';
