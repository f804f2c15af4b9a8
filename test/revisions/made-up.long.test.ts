import './made-up.test.js';
