import './settings.test.js';
