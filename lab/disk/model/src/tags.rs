// SPDX-License-Identifier: MIT
//! The tags of a unit: the commands that have one, and the requests that wait for one.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use crate::command::Request;

/// Commands by the tag that each has until it ends; indexed by tag, which must be in use.
#[derive(Debug)]
pub(crate) struct Tags<C> {
    commands: Vec<Option<C>>,
    outstanding: u32,
    waiting: VecDeque<Request>,
}

impl<C> Tags<C> {
    pub fn new(tags: u32) -> Self {
        Self {
            commands: (0..tags).map(|_| None).collect(),
            outstanding: 0,
            waiting: VecDeque::new(),
        }
    }

    /// No command has a tag.
    pub fn is_empty(&self) -> bool {
        self.outstanding == 0
    }

    /// Gives the request back if a tag is free for it, and lets it wait otherwise.
    pub fn admit(&mut self, request: Request) -> Option<Request> {
        if (self.outstanding as usize) < self.commands.len() {
            return Some(request);
        }
        self.waiting.push_back(request);
        None
    }

    /// Gives a command the lowest free tag; `command` is told how many are outstanding with it.
    pub fn put(&mut self, command: impl FnOnce(u32) -> C) -> u32 {
        let free = self.commands.iter().position(Option::is_none);
        let tag = free.expect("a tag is free");
        self.outstanding += 1;
        self.commands[tag] = Some(command(self.outstanding));
        tag as u32
    }

    /// Ends a command; its tag is free.
    pub fn take(&mut self, tag: u32) -> C {
        self.outstanding -= 1;
        let command = self.commands[tag as usize].take();
        command.expect("only a live command ends")
    }

    /// The request that gets a tag that has come free.
    pub fn next(&mut self) -> Option<Request> {
        self.waiting.pop_front()
    }

    /// Commands with their tags, from the lowest.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &C)> {
        let commands = (0..).zip(&self.commands);
        commands.filter_map(|(tag, command)| Some((tag, command.as_ref()?)))
    }

    /// Takes all commands, from the lowest tag, and all requests that wait for one.
    pub fn drain(&mut self) -> (Vec<(u32, C)>, VecDeque<Request>) {
        self.outstanding = 0;
        let commands = (0..).zip(&mut self.commands);
        let live = commands.filter_map(|(tag, command)| Some((tag, command.take()?)));
        (live.collect(), std::mem::take(&mut self.waiting))
    }
}

impl<C> Index<u32> for Tags<C> {
    type Output = C;

    fn index(&self, tag: u32) -> &C {
        let command = self.commands[tag as usize].as_ref();
        command.expect("the tag is in use")
    }
}

impl<C> IndexMut<u32> for Tags<C> {
    fn index_mut(&mut self, tag: u32) -> &mut C {
        let command = self.commands[tag as usize].as_mut();
        command.expect("the tag is in use")
    }
}
