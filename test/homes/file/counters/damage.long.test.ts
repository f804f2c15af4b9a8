import './damage.test.js';
