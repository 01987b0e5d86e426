// SPDX-License-Identifier: MIT
//! The replay loop: requests through one unit of a lab, open or closed loop.

use std::collections::VecDeque;

use spindle_disk::{Error, Lab, Tag, NEVER, TIME_MAX_NS};

use crate::requests::Request;

/// How requests are given to the unit.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plan {
    /// Closed loop: so many requests are kept outstanding, and arrival times are ignored. None:
    /// each request arrives at its time.
    pub depth: Option<usize>,
    /// Closed loop: the host's time between a completion and the next request, in ns.
    pub think_ns: i64,
    /// The power is cut so long after the start, in ns.
    pub power_cut_ns: Option<i64>,
    /// Seed of the marker with which the replay starts. None: there is no marker, and the replay
    /// goes on from the state in which the lab is.
    pub seed: Option<u64>,
}

impl Plan {
    /// Refuses what no replay can be run with.
    ///
    /// # Errors
    /// A depth of 0, or a time that is negative or too long.
    pub fn check(&self) -> Result<(), Error> {
        let wrong = |message: String| Err(Error::Call(message));
        if self.depth == Some(0) {
            return wrong("the depth must be 1 or more requests".into());
        }
        if !(0..=TIME_MAX_NS).contains(&self.think_ns) {
            return wrong(format!("the think time must be 0 to {TIME_MAX_NS} ns"));
        }
        if self
            .power_cut_ns
            .is_some_and(|ns| !(0..=TIME_MAX_NS / 2).contains(&ns))
        {
            return wrong(format!(
                "the time of the power cut must be 0 to {} ns",
                TIME_MAX_NS / 2
            ));
        }
        Ok(())
    }
}

/// When a request came and when it was acknowledged ([`NEVER`]: it was not), in the lab's ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// When it was submitted.
    pub arrival_ns: i64,
    /// When it was acknowledged.
    pub done_ns: i64,
    /// Sectors of it that were acknowledged, and that a power cut took.
    pub lost_sectors: u64,
}

impl Times {
    /// When it was acknowledged, if it was.
    pub fn acknowledged_ns(&self) -> Option<i64> {
        Some(self.done_ns).filter(|ns| *ns != NEVER)
    }

    /// From arrival to acknowledgement, if it was acknowledged.
    pub fn response_ns(&self) -> Option<i64> {
        Some(self.acknowledged_ns()? - self.arrival_ns)
    }
}

/// What came of a replay.
#[derive(Debug)]
pub struct Outcome {
    /// Start of the list's own time, in the lab's ns.
    pub start_ns: i64,
    /// Of the requests that were submitted, in their order.
    pub times: Vec<Times>,
}

/// Takes bytes of a trace, whole lines at a time.
pub type Sink<'a> = &'a mut dyn FnMut(&[u8]) -> Result<(), Error>;

/// Where a replay gets its place for messages, and leaves its trace.
pub struct Ends<'a> {
    /// Names a request by its index, for messages.
    pub place: &'a dyn Fn(usize) -> String,
    /// Takes the bytes of the trace; None: it is left in the lab.
    pub trace: Option<Sink<'a>>,
}

/// Runs `requests` through `unit` of a lab that is idle at `clock_ns`, and whose completions were all
/// taken, until nothing is pending or the power is cut. `clock_ns` is the lab's present behind it,
/// also after an error.
///
/// # Errors
/// A plan that cannot be carried out, a lab that is not idle, a request that the unit refuses
/// (named by `ends.place`), the end of simulated time, or an error of `ends.trace`.
pub fn run(
    lab: &mut Lab,
    clock_ns: &mut i64,
    unit: u32,
    requests: &[Request],
    plan: &Plan,
    ends: Ends,
) -> Result<Outcome, Error> {
    plan.check()?;
    let now_ns = *clock_ns;
    let start_ns = match plan.seed {
        Some(seed) => now_ns + lab.reset(now_ns, "replay", seed)?,
        None if lab.idle() => now_ns,
        None => {
            return Err(Error::Call(format!(
                "replay: the lab is not idle ({} commands outstanding); let it become idle first",
                lab.outstanding()
            )))
        }
    };
    let mut replay = Replay {
        requests,
        lab,
        unit,
        clock_ns,
        times: Vec::with_capacity(requests.len()),
        ends,
        buffer: vec![0; 1 << 16],
        cut_ns: plan
            .power_cut_ns
            .map_or(NEVER, |cut_ns| start_ns.saturating_add(cut_ns)),
        first: None,
        by_ordinal: Vec::new(),
    };
    match plan.depth {
        None => replay.open_loop(start_ns)?,
        Some(depth) => replay.closed_loop(start_ns, depth, plan.think_ns)?,
    }
    replay.finish()?;
    Ok(Outcome {
        start_ns,
        times: replay.times,
    })
}

/// A run on its way. Requests are submitted in their order; the cookie is the index.
struct Replay<'a, 'e> {
    requests: &'a [Request],
    lab: &'a mut Lab,
    unit: u32,
    /// The lab's present.
    clock_ns: &'a mut i64,
    /// Of the requests submitted so far.
    times: Vec<Times>,
    ends: Ends<'e>,
    buffer: Vec<u8>,
    /// When the power is cut, in the lab's ns.
    cut_ns: i64,
    /// Number of the first completion.
    first: Option<u64>,
    /// Of each completion from the first on, the request; kept only where the power is cut.
    by_ordinal: Vec<usize>,
}

impl Replay<'_, '_> {
    fn open_loop(&mut self, start_ns: i64) -> Result<(), Error> {
        loop {
            let next = self.requests.get(self.times.len());
            let arrival = next.map_or(NEVER, |r| start_ns.saturating_add(r.arrival_ns));
            let event = self.lab.next_event_ns();
            if arrival.min(event) > self.cut_ns {
                return Ok(());
            }
            if next.is_some() && arrival <= event {
                self.submit(arrival)?;
            } else if event == NEVER {
                return Ok(());
            } else {
                self.advance(event)?;
            }
            self.collect(|_| {})?;
        }
    }

    fn closed_loop(&mut self, start_ns: i64, depth: usize, think_ns: i64) -> Result<(), Error> {
        // Times at which the host is ready to submit; completions come in order, so it is sorted.
        let mut ready = VecDeque::from(vec![start_ns; depth.min(self.requests.len())]);
        loop {
            let event = self.lab.next_event_ns();
            let more = self.times.len() < self.requests.len();
            let submit = ready.front().copied().filter(|_| more).unwrap_or(NEVER);
            if submit.min(event) > self.cut_ns {
                return Ok(());
            }
            match ready.front() {
                Some(&at) if more && at <= event => {
                    ready.pop_front();
                    self.submit(at)?;
                }
                _ if event == NEVER => return Ok(()),
                _ => self.advance(event)?,
            }
            self.collect(|done_ns| ready.push_back(done_ns + think_ns))?;
        }
    }

    /// Hands over the next request.
    fn submit(&mut self, at_ns: i64) -> Result<(), Error> {
        let cookie = self.times.len();
        let r = &self.requests[cookie];
        let tag = if r.ordered { Tag::Ordered } else { Tag::Simple };
        self.lab
            .submit_tagged(at_ns, self.unit, r.op, r.lbn, r.sectors, cookie as u64, tag)
            .map_err(|e| Error::File {
                path: (self.ends.place)(cookie),
                message: e.to_string(),
            })?;
        *self.clock_ns = at_ns;
        self.times.push(Times {
            arrival_ns: at_ns,
            done_ns: NEVER,
            lost_sectors: 0,
        });
        Ok(())
    }

    fn advance(&mut self, to_ns: i64) -> Result<(), Error> {
        if to_ns > TIME_MAX_NS {
            return Err(Error::Call(format!(
                "after {} requests the replay reaches the end of simulated time, {TIME_MAX_NS} ns",
                self.times.len()
            )));
        }
        self.lab.advance(to_ns);
        *self.clock_ns = to_ns;
        Ok(())
    }

    /// Takes completions and trace lines.
    fn collect(&mut self, mut done: impl FnMut(i64)) -> Result<(), Error> {
        while let Some(completion) = self.lab.completion() {
            self.times[completion.cookie as usize].done_ns = completion.acknowledged_ns;
            if self.cut_ns != NEVER {
                self.first.get_or_insert(completion.ordinal);
                self.by_ordinal.push(completion.cookie as usize);
            }
            done(completion.acknowledged_ns);
        }
        let Some(write) = &mut self.ends.trace else {
            return Ok(());
        };
        loop {
            match self.lab.trace_read(&mut self.buffer) {
                0 => return Ok(()),
                len => write(&self.buffer[..len])?,
            }
        }
    }

    /// Cuts the power, if that is asked for, and takes the rest of the trace.
    fn finish(&mut self) -> Result<(), Error> {
        if self.cut_ns != NEVER {
            self.advance(self.cut_ns)?;
            self.collect(|_| {})?;
            let first = self.first.unwrap_or(0);
            for lost in self.lab.cut_power(self.cut_ns)? {
                let request = self.by_ordinal[(lost.ordinal - first) as usize];
                self.times[request].lost_sectors += lost.sectors;
            }
        }
        self.collect(|_| {})
    }
}
