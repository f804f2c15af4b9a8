import './scenarios.test.js';
