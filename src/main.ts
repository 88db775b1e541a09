import { startService } from './program/start/start-service';

void startService();
