import { Module } from '@nestjs/common';
import { EventsService } from './events.service';
import { EntryTail } from './entry-tail';
import { EventsController } from './events.controller';

@Module({ controllers: [EventsController], providers: [EventsService, EntryTail], exports: [EntryTail] })
export class EventsModule {}
