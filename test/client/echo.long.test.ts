import './echo.test.js';
