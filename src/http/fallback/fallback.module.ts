import { Module } from '@nestjs/common';
import { FallbackController } from './fallback.controller';

/** To be imported last: its routes match every path. */
@Module({ controllers: [FallbackController] })
export class FallbackModule {}
