import { Global, Module } from '@nestjs/common';
import { ShutdownGate } from './shutdown-gate';

/** Global, so that long-running work can watch the gate's signal. */
@Global()
@Module({ providers: [ShutdownGate], exports: [ShutdownGate] })
export class ShutdownModule {}
