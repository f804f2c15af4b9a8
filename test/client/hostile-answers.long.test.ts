import './hostile-answers.test.js';
