"""Do the limits of events that several detectors all missed hold, and when do they fail?"""
