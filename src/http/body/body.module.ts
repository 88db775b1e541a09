import { Module } from '@nestjs/common';
import { BodyReader } from './body-reader';
import { BodyMemory } from './body-memory';

@Module({ providers: [BodyMemory, BodyReader], exports: [BodyMemory, BodyReader] })
export class BodyModule {}
