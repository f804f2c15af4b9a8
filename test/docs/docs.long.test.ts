import './docs.test.js';
