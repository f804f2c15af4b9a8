import './kept-jobs.test.js';
