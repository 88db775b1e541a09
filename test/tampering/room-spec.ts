import { describeRoom } from '../support/jest/room';

describeRoom(__dirname);
