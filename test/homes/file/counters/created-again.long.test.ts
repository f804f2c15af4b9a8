import './created-again.test.js';
