import { Module } from '@nestjs/common';
import { AnswerMemory } from './answer-memory';

@Module({ providers: [AnswerMemory], exports: [AnswerMemory] })
export class AnswersModule {}
