import './records-file.test.js';
