import { Module } from '@nestjs/common';
import { ConsoleController } from './console.controller';

/** The console for people, outside the versioned prefix. */
@Module({ controllers: [ConsoleController] })
export class ConsoleModule {}
