// The pictures of a page, in their order.

import * as breakdown from './breakdown.js';
import * as comm from './comm.js';
import * as dots from './dots.js';
import * as iterations from './iterations.js';

export const pictures = [dots, breakdown, iterations, comm];
