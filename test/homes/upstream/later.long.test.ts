import './later.test.js';
