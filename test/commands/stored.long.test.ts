import './stored.test.js';
