import './sources.test.js';
