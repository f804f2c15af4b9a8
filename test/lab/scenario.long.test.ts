import './scenario.test.js';
