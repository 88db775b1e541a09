import { Module } from '@nestjs/common';
import { Waits } from './waits';

@Module({ providers: [Waits], exports: [Waits] })
export class WaitingModule {}
