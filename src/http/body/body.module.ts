import { Module } from '@nestjs/common';
import { BodyReader } from './body-reader';
import { BodyRoom } from './body-room';

@Module({ providers: [BodyRoom, BodyReader], exports: [BodyRoom, BodyReader] })
export class BodyModule {}
