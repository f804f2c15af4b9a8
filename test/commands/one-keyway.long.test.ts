import './one-keyway.test.js';
