import { Module } from '@nestjs/common';
import { AnswerRoom } from './answer-room';

@Module({ providers: [AnswerRoom], exports: [AnswerRoom] })
export class AnswersModule {}
