import './forms.test.js';
