import './writers.test.js';
