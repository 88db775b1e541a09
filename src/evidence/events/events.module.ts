import { Module } from '@nestjs/common';
import { EventsController } from './events.controller';
import { EventsService } from './events.service';
import { LiveEntries } from './live-entries';

@Module({ controllers: [EventsController], providers: [EventsService, LiveEntries], exports: [LiveEntries] })
export class EventsModule {}
