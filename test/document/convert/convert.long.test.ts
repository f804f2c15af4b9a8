import './convert.test.js';
