import './crash.test.js';
