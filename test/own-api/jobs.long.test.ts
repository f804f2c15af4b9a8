import './jobs.test.js';
