import './progress.test.js';
