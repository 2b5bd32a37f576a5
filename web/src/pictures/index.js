// The pictures of a page in their order: first those that support a decision, then those that explain it. For psbench
// comm, the picture over sizes decides.

import * as breakdown from './breakdown.js';
import * as comm from './comm.js';
import * as distribution from './distribution.js';
import * as dots from './dots.js';
import * as heat from './heat.js';
import * as iterations from './iterations.js';
import * as learning from './learning.js';
import * as scaling from './scaling.js';
import * as timeline from './timeline.js';

export const pictures = [comm, dots, scaling, heat, learning, breakdown, distribution, iterations, timeline];
